//! Fast Messages: streams, packets, credits, handlers, extract.
