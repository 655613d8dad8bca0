"""Table 4 of the paper: keypoint matching on PASCAL VOC.

As ``experiments/willow.py``, with 20 categories, 7020 images to train on, and the keypoints that both images
of a pair have.

    python experiments/voc.py --device cuda --finetune            # VGG16 is trained too, as in the paper
    python experiments/voc.py --device cuda --iterations 500      # features of a frozen VGG16
    python experiments/voc.py --device cuda --finetune --minutes 8 --iterations 1000

``--minutes`` ends training at the last epoch that fits; the same command goes on from there. Rows of frozen
features are named ``ehnn-mlp-frozen`` and so on. ``ehnn reproduce voc`` is the same.
"""

from ehnn.reproduce.matching_script import main

if __name__ == "__main__":
    main("voc", __doc__)
