# How an application is built: its SOURCES and HEADERS, with DEFINES and LIBS if it has any, and what is common, into OUT.
MPICC ?= mpicc
# From where the application is.
SHARED ?= ../common
CFLAGS ?= -O3 -g
# Vectors in the loops that say so; sums in another order there and nowhere else. How functions pass wide vectors, which the
# compiler remarks on, matters to nobody: an application is compiled as a whole.
FLAGS = -std=gnu11 -Wall -Wextra -Wno-psabi -fopenmp-simd -fno-math-errno -fno-trapping-math
COMMON = $(addprefix $(SHARED)/,flags.c arguments.c run.c loop.c progress.c checkpoint.c png.c scaling.c)

$(OUT): $(SOURCES) $(HEADERS) $(COMMON) $(SHARED)/app.h $(SHARED)/arguments.h
	$(MPICC) $(PROFILE) $(FLAGS) $(DEFINES) $(CFLAGS) -o $@ $(SOURCES) $(COMMON) -lz -lm $(LIBS)

.PHONY: clean
clean:
	rm -f $(OUT)
