//! Every state that a few pods, nodes and faults can bring `plan` into, explored to the end.
