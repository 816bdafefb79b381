# lda and qda of MASS on the tables that mass.py exports, as JSON: Rscript mass.R FOLDER > mass.json
library(MASS)

folder <- commandArgs(trailingOnly = TRUE)[1]
every <- c(iris = 3, wine = 4, breast_cancer = 12) # which rows are kept

list_of <- function(items) paste0("[", paste(items, collapse = ", "), "]")
numbers <- function(values) list_of(sprintf("%.17g", values)) # every bit
rows_of <- function(matrix) list_of(apply(matrix, 1, numbers))

case <- function(name, x, y, model, method, prior) {
  fit <- model(x, y, prior = prior, method = method)
  left_out <- model(x, y, prior = prior, method = method, CV = TRUE)
  kept <- seq(1, nrow(x), by = every[[name]])
  said <- list(
    data = paste0('"', name, '"'),
    every = every[[name]],
    model = if (identical(model, lda)) '"lda"' else '"qda"',
    method = paste0('"', method, '"'),
    prior = numbers(prior),
    posterior = rows_of(predict(fit, x)$posterior[kept, ]),
    left_out = rows_of(left_out$posterior[kept, ])
  )
  if (identical(model, lda)) {
    said$svd <- numbers(fit$svd)
    said$scaling <- rows_of(fit$scaling)
  }
  paste0("{", paste0('"', names(said), '": ', said, collapse = ", "), "}")
}

cases <- c()
for (name in names(every)) {
  x <- as.matrix(read.csv(file.path(folder, paste0(name, ".csv"))))
  y <- factor(x[, "class"])
  x <- x[, colnames(x) != "class"]
  own <- as.vector(table(y)) / length(y)
  given <- seq_along(own) / sum(seq_along(own))
  for (model in c(lda, qda)) for (method in c("moment", "mle")) for (prior in list(own, given)) {
    cases <- c(cases, case(name, x, y, model, method, prior))
  }
}
cat('{"R": "', as.character(getRversion()), '", "MASS": "', packageDescription("MASS")$Version, '", "cases": [\n', sep = "")
cat(cases, sep = ",\n")
cat("]}\n")
