kubectl create namespace parcel-operator
shown ../tutorials/operator-in-go yaml 1 | kubectl apply -f -

# If the answer is no, that is the exit code, too.
before_1() { set +e; }
