"""Speed and memory at growing sizes, and beside other libraries."""
