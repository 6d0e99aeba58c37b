"""What a pair is worth: D-optimality runs on the engine, the others have a module each."""
