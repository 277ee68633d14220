//! libmpi_abi.so.1: entry points, handles, argument checks, nothing else.
