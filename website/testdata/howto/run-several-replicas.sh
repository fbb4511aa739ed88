scaffold --group-name shop.example.org --kind WebShop --operator-name webshop.shop.example.org --go-module example.org/webshop-operator \
  --runtime-path "$REPOSITORY" --skip-post-processing webshop-operator
cd webshop-operator

# Pods are simulated, so they do not hold leases: lease NAME ROLE
lease() {
  kubectl create -f - <<EOF
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: $1
  namespace: webshop-operator
  labels: {webshop.shop.example.org/lease: $2}
spec:
  holderIdentity: ${pod#pod/}_1
  renewTime: $(date -u +%FT%T.000000Z)
EOF
}

before_2() {
  kubectl get poddisruptionbudget webshop-operator -n webshop-operator
  shown run-several-replicas yaml 2 | kubectl apply -f -
  pod=$(kubectl get pods -n webshop-operator -o name | awk "NR == 1")
  lease webshop.shop.example.org leader
}

before_3() {
  lease webshop.shop.example.org-0 shard
  lease webshop.shop.example.org-1 member
}
