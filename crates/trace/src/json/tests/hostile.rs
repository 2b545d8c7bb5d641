//! Texts that are made to take time and memory.
