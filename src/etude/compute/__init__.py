"""What runs where: tensors now, processes later."""
