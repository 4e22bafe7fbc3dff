"""What runs where: tensors, the ranks of a run, and who does which work."""
