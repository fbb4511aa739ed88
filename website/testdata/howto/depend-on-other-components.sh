namespace demo
parcels
type_of_others example.org backends Backend Namespaced

for name in database web; do
  kubectl create configmap $name --dry-run=client -o yaml > $name.yaml
done
