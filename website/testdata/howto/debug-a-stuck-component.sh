namespace shop
chart web
clm apply web ./web --set replicas=1
parcels

# Simulated pods have no logs: from now on, the API server is reached by a proxy that has a file for one of them: log NAMESPACE < FILE
log() {
  local pod port
  pod=$(kubectl get pods -n "$1" -o name | grep -v sample)
  mkdir "$1"
  cat > "$1/log"
  kubectl proxy --port 0 --www "$1" --www-prefix "/api/v1/namespaces/$1/pods/${pod#pod/}/" > "$1.port" &
  until port=$(grep -o '[0-9]\+$' "$1.port"); do sleep 0.1; done
  kubectl config set-cluster component-operator-sandbox --server "http://127.0.0.1:$port"
}

# What is stuck is not ready.
clm() { command clm "$@" || [ "$1 $?" = "status 3" ]; }

# The component waits for a Secret.
before_1() {
  kubectl patch parcelservice sample --type merge -p '{"spec": {"database": {"passwordSecretRef": {"name": "database"}}}}'
  kubectl wait parcelservice sample --for=jsonpath='{.status.conditions[?(@.type=="Ready")].reason}'=Retrying --timeout=1m
}

before_4() {
  kubectl create namespace parcel-operator
  kubectl create deployment parcel-operator -n parcel-operator --image example.com/parcel-operator
  kubectl rollout status deployment parcel-operator -n parcel-operator
  log parcel-operator < operator.log
}

before_5() { kubectl create secret generic database --from-literal password=secret; }

before_6() { echo started | log shop; }

before_7() {
  kubectl apply --server-side -f "$REPOSITORY/examples/objectset-operator/chart/files/crds"
  kubectl wait crd --all --for=condition=Established
  objectset-operator -metrics-bind-address=0 -health-probe-bind-address=0 > objectsets.log 2>&1 &
  # The release has a Deployment "web", too.
  shown ../concepts/object-sets yaml 3 | sed 's/metadata: {name: web}/metadata: {name: sets}/' | kubectl create -f -
  kubectl wait objectdeployment web --for=condition=Ready --timeout=1m
}
