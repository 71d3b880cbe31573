"""Programs that answer to the names of svm_light's family, LIBSVM and LIBLINEAR."""
