"""Table 3 of the paper: keypoint matching on WILLOW ObjectClass.

Two images of an object have ten keypoints each; which belong together? Candidates, the pairs of a keypoint of
one image and a keypoint of the other, are the nodes of an association hypergraph; pairs of Delaunay edges are
its 2-edges and pairs of Delaunay triangles its 3-edges. A network says which candidates are true.

    python paper/experiments/willow.py --models ehnn-mlp ehnn-transformer nhgm-v2 ngm-v2

trains on features of a frozen VGG16 (10 epochs of 100 batches of 8 pairs) and writes ``results/willow.json``.
Several models at once are several processes, each with its own ``--out``; the same command for all of them
afterwards finds the finished runs and writes the whole table.
``ehnn reproduce willow`` is the same. Needs the extra ``vision`` and the data of docs/matching-data.md.
"""

from ehnn_paper.matching.script import main

if __name__ == "__main__":
    main("willow", __doc__)
