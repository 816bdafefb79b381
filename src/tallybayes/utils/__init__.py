"""Small parts that every other package uses: array types, progress, threads of BLAS, HTML tables of a notebook."""
