namespace demo
parcels

before_1() {
  kubectl create -f - <<EOF
apiVersion: parcel.example.io/v1
kind: DeliveryRoute
metadata: {name: north}
spec: {service: other, stops: [harbor]}
EOF
  kubectl delete parcelservice sample --wait=false
  kubectl wait parcelservice sample --timeout=1m --for=jsonpath='{.status.conditions[?(@.type=="Ready")].message}'="$(
    perl -ne 'print if /^Deletion blocked: others/ && chomp' "$REPOSITORY/website/content/how-to/unblock-a-deletion.md"
  )"
}

# The release waits, too, so the exit code is 3.
before_2() {
  chart chart
  clm apply web ./chart
  kubectl patch configmap settings --type merge -p '{"metadata": {"finalizers": ["example.com/hold"]}}'
  clm delete web --yes --timeout 5s || [ $? = 3 ]
  set +e
}

before_3() { set -e; }

# What an operator leaves behind that is killed while it deletes a type.
before_4() {
  kubectl create -f - <<EOF
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: barrier, labels: {parcel-operator.example.io/barrier-owner-id: sample}}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [parcel.example.io], apiVersions: ["*"], resources: [deliveryroutes], operations: [CREATE]}]}
  validations: [{expression: "false"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: barrier, labels: {parcel-operator.example.io/barrier-owner-id: sample}}
spec: {policyName: barrier, validationActions: [Deny]}
EOF
}

before_5() { kubectl create namespace shop; }

before_7() { kill $operator; }
