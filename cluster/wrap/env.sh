# For a POSIX shell: `. PREFIX/share/hpvm/env.sh` puts this installation before other MPIs. Shells other than
# bash and zsh cannot tell a file its own name: set HPVM_PREFIX first there.
if [ -n "${BASH_SOURCE-}" ]; then
    HPVM_PREFIX=$(cd "$(dirname "${BASH_SOURCE}")/../.." && pwd)
elif [ -n "${ZSH_VERSION-}" ]; then
    eval 'HPVM_PREFIX=${${(%):-%x}:A:h:h:h}'
fi
if [ ! -x "${HPVM_PREFIX-}/bin/mpirun" ]; then
    echo "env.sh: HPVM_PREFIX='${HPVM_PREFIX-}' holds no hpvm; set it to the folder that bin/mpirun lies in" >&2
else
    export PATH="$HPVM_PREFIX/bin:$PATH"
    export PKG_CONFIG_PATH="$HPVM_PREFIX/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
    export MANPATH="$HPVM_PREFIX/share/man:${MANPATH-}"
    export MPI_HOME="$HPVM_PREFIX"
    export HPVM_PREFIX
fi
