namespace web
type_of_others example.org webs Web Namespaced
kubectl create -f - <<'YAML'
apiVersion: example.org/v1alpha1
kind: Web
metadata: {name: eu}
status: {rollout: {operator: web-operator.example.org, version: one}, conditions: [{type: RolledOut, status: "False", reason: Waiting, message: "waiting: at most 2 of 20 components take the version at the same time, and 5 that have not finished come first"}]}
YAML
