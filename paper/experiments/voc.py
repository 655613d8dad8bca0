"""Table 4 of the paper: keypoint matching on PASCAL VOC.

As ``paper/experiments/willow.py``, with 20 categories, 7020 images to train on, and the keypoints that both
images
of a pair have.

    python paper/experiments/voc.py --device cuda                 # the README's table; VGG16 is trained too
    python paper/experiments/voc.py --device cuda --no-finetune   # features of a frozen VGG16
    python paper/experiments/voc.py --device cuda --minutes 8 --epoch-pairs 100 --checkpoint-every 100
    python paper/experiments/voc.py --device cuda --epochs 20 --iterations 2000 --lr 2e-4 \\
        --lr-steps 2 4 6 8 10 --batch-size 8 --copies 1 --blocks 5 --no-amp --no-tf32
        # as the paper says, but EHNN-Transformer's --width 128 --dropout 0 --global-dropout 0

``--minutes`` ends training at the last epoch that fits, with time left to judge; the same command goes on
from there. ``--epoch-pairs`` judges so many test pairs per category after an epoch, to be looked at; the
chosen epoch is judged on all of them at the end. ``--hold-out``, ``--copies`` and ``--blocks`` are explained
in docs/matching.md. On a GPU VGG16 is trained in bfloat16 (``--no-amp``: float32) and products of float32 may
use TF32 (``--no-tf32``). Rows of frozen features are named ``ehnn-mlp-frozen`` and so on. ``ehnn reproduce
voc`` is the same.
"""

from ehnn_paper.matching.script import main

if __name__ == "__main__":
    main("voc", __doc__)
