kubectl create namespace team-a
for number in 1 2 3; do
  shown restrict-tenants yaml $number | kubectl apply -f -
done

# If the answer is no, that is the exit code, too.
before_1() { set +e; }
