kubectl apply --server-side -f "$REPOSITORY/examples/objectset-operator/chart/files/crds"
kubectl wait crd --all --for=condition=Established
objectset-operator -metrics-bind-address=0 -health-probe-bind-address=0 > operator.log 2>&1 &
trap 'cat operator.log' ERR
trap 'kill %1' EXIT

for kind in Package ObjectDeployment ObjectSet; do
  type_of_others package-operator.run "cluster$(tr A-Z a-z <<< "$kind")s" "Cluster$kind" Cluster
done

# Package Operator has created the package's deployment, its set, and their objects.
kubectl create namespace shop
chart web
helm template web ./web | kubectl create -n shop --dry-run=client -o json -f - > objects.json
# own KIND NAME < SPEC: the object belongs to the one before.
owner=
own() {
  owner=$(jq --arg kind "$1" --arg name "$2" --argjson owners "[$owner]" '{
    apiVersion: "package-operator.run/v1alpha1", kind: $kind, spec: .,
    metadata: {name: $name, labels: {"package-operator.run/instance": "web"}, ownerReferences: $owners}
  }' | kubectl create -o json -f - |
    jq -c '{apiVersion, kind, name: .metadata.name, uid: .metadata.uid, controller: true, blockOwnerDeletion: true}')
}
own ClusterPackage web <<< '{"image": "example.com/web:1"}'
jq -s '{
  phases: [
    {name: "configure", objects: map(select(.kind != "Deployment") | {object: .})},
    {name: "deploy", objects: map(select(.kind == "Deployment") | {object: .})}
  ],
  availabilityProbes: [{selector: {kind: {group: "apps", kind: "Deployment"}}, probes: [{condition: {type: "Available", status: "True"}}]}]
}' objects.json > set.json
jq '{selector: {matchLabels: {"package-operator.run/instance": "web"}}, template: {spec: .}}' set.json > deployment.json
own ClusterObjectDeployment web < deployment.json
own ClusterObjectSet web-5d9c7f < set.json
jq --argjson owner "$owner" '.metadata += {ownerReferences: [$owner], labels: {"package-operator.run/cache": "True"}}' objects.json |
  kubectl apply --server-side --field-manager=package-operator -f -

# The garbage collector takes some time to know the new types. Then it deletes what belongs to nothing. Before, it would not see
# that the deployment belongs to the package.
owner='{"apiVersion": "package-operator.run/v1alpha1", "kind": "ClusterPackage", "name": "lost", "uid": "lost"}'
own ClusterObjectSet lost <<< '{}'
kubectl wait clusterobjectsets.package-operator.run lost --for=delete --timeout=2m

# Package Operator reports that it pauses.
before_4() {
  kubectl wait clusterpackages.package-operator.run web --for=jsonpath='{.spec.paused}'=true &&
    kubectl patch clusterobjectdeployments.package-operator.run web --type merge -p '{"status":{"conditions":[{"type":"Paused","status":"True"}]}}' &
}

before_7() {
  [ -z "$(kubectl get deployment web -n shop -o jsonpath='{.metadata.ownerReferences}')" ]
  born=$(kubectl get pods -n shop -o name)
}

before_10() {
  [ "$(kubectl get pods -n shop -o name)" = "$born" ]
  kubectl get deployment web -n shop -o json --show-managed-fields | jq -e 'tostring | contains("package-operator") | not'
}
