"""What a distribution may say besides its contract, each with a default: a file for each who asks."""
