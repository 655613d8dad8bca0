"""Table 4 of the paper: keypoint matching on PASCAL VOC.

As ``experiments/willow.py``, with 20 categories, 7020 images to train on, and the keypoints that both images
of a pair have.

    python experiments/voc.py --device cuda --finetune --amp      # VGG16 is trained too, as in the paper
    python experiments/voc.py --device cuda --iterations 500      # features of a frozen VGG16
    python experiments/voc.py --device cuda --finetune --amp --tf32 --minutes 8 --iterations 1000 \\
        --epoch-pairs 100 --checkpoint-every 100

``--minutes`` ends training at the last epoch that fits, with time left to judge; the same command goes on
from there. ``--epoch-pairs`` judges so many test pairs per category after an epoch, to be looked at; the
chosen epoch is judged on all of them at the end. ``--hold-out 0 --copies 4 --blocks 2`` are explained in
docs/matching.md. Precision is float32 unless ``--amp`` (bfloat16 in VGG16) or ``--tf32`` is given. Rows of
frozen features are named ``ehnn-mlp-frozen`` and so on. ``ehnn reproduce voc`` is the same.
"""

from ehnn.reproduce.matching_script import main

if __name__ == "__main__":
    main("voc", __doc__)
