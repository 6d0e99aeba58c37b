"""Answers written to files and read from files.

files         import and export
label_studio  tasks and annotations of Label Studio
preferences   preferences that language models are tuned by
times         times as files write them
"""
