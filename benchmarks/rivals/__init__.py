"""Other systems on the same problems, one small file each."""
