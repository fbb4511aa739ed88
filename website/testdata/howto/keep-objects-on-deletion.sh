namespace demo
chart chart
shown keep-objects-on-deletion yaml 1 > chart/templates/data.yaml
kubectl create -f - <<EOF
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /tmp}}
EOF
clm apply web ./chart
parcels

is_kept() { clm delete web --dry-run | grep -A 1 'will be orphaned' | grep data; }

before_2() { is_kept; }

# The chart of the page has no annotations.
before_3() {
  sed -i /annotations/,+2d chart/templates/data.yaml
  shown keep-objects-on-deletion yaml 2 > rules.yaml
}

before_4() { is_kept; }

before_5() { kubectl get deployments sample-api sample-controller; }
