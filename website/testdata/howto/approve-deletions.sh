# The operator of the examples has no limit for deletions; but the deletion of its component is approved in the same way.
namespace demo
parcels

before_1() {
  kubectl patch parcelservice sample --type merge -p '{"spec": {"deletePolicy": "ConfirmOnDelete"}}'
  kubectl wait parcelservice sample --for=jsonpath='{.status.appliedGeneration}'=2 --timeout=1m
  kubectl delete parcelservice sample --wait=false
  kubectl wait parcelservice sample --for=jsonpath='{.status.conditions[?(@.type=="Ready")].reason}'=DeletionBlocked --timeout=1m
}

# The digest on the page is that of other objects, and approves nothing.
before_2() {
  kubectl get parcelservice sample -o jsonpath='{.status.conditions[?(@.type=="Ready")].message}' |
    grep '^Deletion blocked: 19 of 19 dependents may be deleted only with approval; to approve, set the annotation parcel-operator.example.io/approve-deletions: "[0-9a-f]\{16\}"; would be deleted: '
}
