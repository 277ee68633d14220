"""The residual history of PETSc's additive Schwarz in history.h: the same blocks, overlap and sweeps.

usage: python3 petsc.py [CELLS BLOCK OVERLAP SWEEPS]    (needs petsc4py: apt install python3-petsc4py)
"""

import sys
import time

import numpy
import petsc4py

petsc4py.init([])
from petsc4py import PETSc

cells, block, overlap, sweeps = [int(word) for word in sys.argv[1:]] or [48, 4, 2, 10]
relaxation = 0.9


def number(x, y):
    return y * cells + x


def operator():
    matrix = PETSc.Mat().createAIJ([cells * cells] * 2, nnz=5)
    for y in range(cells):
        for x in range(cells):
            near = [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)]
            near = [number(*at) for at in near if 0 <= min(at) and max(at) < cells]
            row = number(x, y)
            matrix.setValues([row], near + [row], [-1.0] * len(near) + [float(len(near))])
    matrix.assemble()
    matrix.setNullSpace(PETSc.NullSpace().create(constant=True))
    return matrix


def subdomain(x, y, more):
    wide = [range(max(at - more, 0), min(at + block + more, cells)) for at in (x, y)]
    return PETSc.IS().createGeneral(sorted(number(i, j) for j in wide[1] for i in wide[0]))


matrix = operator()
corners = [(x, y) for y in range(0, cells, block) for x in range(0, cells, block)]
options = PETSc.Options()
options["sub_ksp_type"] = "richardson"
options["sub_ksp_richardson_scale"] = relaxation
options["sub_ksp_max_it"] = sweeps
options["sub_ksp_norm_type"] = "none"
options["sub_ksp_convergence_test"] = "skip"
options["sub_pc_type"] = "jacobi"
options["pc_asm_type"] = "basic"
ksp = PETSc.KSP().create()
ksp.setOperators(matrix)
ksp.setType("cg")
ksp.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
ksp.setTolerances(rtol=1e-8)
preconditioner = ksp.getPC()
preconditioner.setType("asm")
preconditioner.setASMLocalSubdomains(
    len(corners),
    [subdomain(x, y, overlap) for x, y in corners],
    [subdomain(x, y, 0) for x, y in corners],
)
preconditioner.setASMOverlap(0)
ksp.setFromOptions()
ksp.setConvergenceHistory(1000)
solution, source = matrix.createVecs()
y, x = numpy.mgrid[0:cells, 0:cells]
values = numpy.sin(0.37 * (x + 1) * (y + 2)).ravel()
source.setArray(values - values.mean())
ksp.setUp()
start = time.monotonic()
ksp.solve(source, solution)
seconds = time.monotonic() - start
history = ksp.getConvergenceHistory() / source.norm()
for k in range(0, len(history), 6):
    print("    " + "".join(f"{value:.10e}, " for value in history[k : k + 6]).rstrip())
iterations = ksp.getIterationNumber()
print(f"{iterations} iterations, {seconds:.3f} s, {1e-6 * cells**2 * iterations / seconds:.2f} million cells/s")
