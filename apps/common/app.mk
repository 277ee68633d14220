# How an application is built: its SOURCES and HEADERS and what is common, into OUT.
MPICC ?= mpicc
CFLAGS ?= -O3 -g
# Vectors in the loops that say so; sums in another order there and nowhere else.
FLAGS = -std=gnu11 -Wall -Wextra -fopenmp-simd -fno-math-errno -fno-trapping-math
COMMON = $(addprefix ../common/,flags.c progress.c checkpoint.c png.c scaling.c)

$(OUT): $(SOURCES) $(HEADERS) $(COMMON) ../common/app.h
	$(MPICC) $(PROFILE) $(FLAGS) $(CFLAGS) -o $@ $(SOURCES) $(COMMON) -lz -lm

.PHONY: clean
clean:
	rm -f $(OUT)
