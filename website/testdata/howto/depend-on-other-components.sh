namespace demo
parcels

before_3() {
  kubectl create -f - <<EOF
apiVersion: example.io/v1alpha1
kind: ParcelService
metadata: {name: main}
spec: {region: north}
EOF
  kubectl wait parcelservice branch --for=condition=Ready --timeout=5m
  kubectl delete parcelservice main --wait=false
  kubectl wait parcelservice main --timeout=1m --for=jsonpath='{.status.state}'=Deleting
}
