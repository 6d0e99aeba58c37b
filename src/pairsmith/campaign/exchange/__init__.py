"""Export answers to files, and import answers from files.

files         import and export, in every format
label_studio  tasks and annotations of Label Studio
preferences   preferences for tuning language models
times         times in ISO 8601
"""
