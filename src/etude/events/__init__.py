"""What a run says about itself, and how it is read back."""
