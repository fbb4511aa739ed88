# The project, and what its helm operator has left.
cp -r "$REPOSITORY/scaffold/internal/project/testdata/helm-operator" site-operator
kubectl create -f site-operator/config/crd/bases
kubectl wait crd --all --for=condition=Established
namespace web
cat > values.yaml <<END
replicaCount: 2
image: {repository: registry.example.org/site}
labels: {team: web}
END
helm install shop site-operator/helm-charts/site -n web --wait --set replicaCount=1,image.repository=registry.example.org/site,labels.team=web
helm upgrade shop site-operator/helm-charts/site -n web --wait -f values.yaml
kubectl create -f - <<END
apiVersion: web.example.org/v1alpha1
kind: Site
metadata: {name: shop, finalizers: [helm.sdk.operatorframework.io/uninstall-release]}
spec: {replicaCount: 2}
END
owner=$(kubectl get site shop -o json | jq -c '{metadata: {ownerReferences: [{apiVersion, kind, name: .metadata.name, uid: .metadata.uid, controller: true, blockOwnerDeletion: true}]}}')
for object in deployment/shop service/shop job/shop-upgraded; do
  kubectl patch $object --type merge -p "$owner"
done
kubectl create namespace site-operator-system
kubectl create deployment site-operator-controller-manager --image example.org/none -n site-operator-system
born=$(kubectl get pods -o jsonpath='{.items[*].metadata.uid}')
held=$(kubectl get deployment/shop service/shop clusterrole/web-shop job/shop-upgraded -o jsonpath='{.items[*].metadata.uid}')

scaffold() {
  case "$1" in
    --from-helm-operator) command scaffold --runtime-path "$REPOSITORY" "$@" ;;
    *) command scaffold "$@" ;;
  esac
}

before_3() { bin/site-operator plan --diff > plan.txt; ! grep -E "^ *[-+] +(replicas|image):" plan.txt; }

# At the end, everything is the same as before, and belongs to the new operator.
check() {
  [ "$(kubectl get pods -o jsonpath='{.items[*].metadata.uid}')" = "$born" ] &&
    [ "$(kubectl get deployment/shop service/shop clusterrole/web-shop job/shop-upgraded -o jsonpath='{.items[*].metadata.uid}')" = "$held" ] &&
    [ "$(kubectl get site shop -o jsonpath='{.status.revision} {.metadata.finalizers}')" = '2 ["site.web.example.org/finalizer"]' ] &&
    [ -z "$(kubectl get secrets -l owner=helm -o name)" ]
}
trap '
  code=$?
  [ $code != 0 ] || check || code=1
  kill $(jobs -p) 2> /dev/null || true
  [ $code = 0 ] || cat operator.log
  exit $code
' EXIT
