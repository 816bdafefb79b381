"""Which columns depend on which: learned from information, or given."""
