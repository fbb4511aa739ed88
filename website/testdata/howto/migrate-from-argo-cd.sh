kubectl create namespace argocd
kubectl create namespace shop
mkdir -p overlays/production
chart shop
helm template shop ./shop > overlays/production/shop.yaml
cat > overlays/production/migration.yaml <<'EOF'
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations:
    argocd.argoproj.io/hook: PreSync
    argocd.argoproj.io/hook-delete-policy: BeforeHookCreation
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: migrate
          image: example.com/web:1
EOF
echo 'resources: [shop.yaml, migration.yaml]' > overlays/production/kustomization.yaml

# Argo CD has synced the Application.
kubectl annotate --local -f overlays/production/shop.yaml argocd.argoproj.io/tracking-id=shop -o yaml |
  kubectl apply -n shop --server-side --field-manager=argocd-controller -f -
type_of_others argoproj.io applications Application Namespaced
kubectl apply -f - <<'EOF'
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: shop
  namespace: argocd
  finalizers: [resources-finalizer.argocd.argoproj.io]
spec:
  source: {repoURL: https://git.example.com/shop.git, path: overlays/production}
  destination: {server: https://kubernetes.default.svc, namespace: shop}
  syncPolicy: {automated: {prune: true, selfHeal: true}}
status:
  operationState: {phase: Succeeded}
  resources: [{group: apps, kind: Deployment, namespace: shop, name: shop}]
EOF

before_3() { kubectl get applications.argoproj.io shop -n argocd -o json | jq -e '.metadata.finalizers == null and .spec.syncPolicy == {}'; }

# No mark of Argo CD is left, and the hook has run.
before_5() {
  kubectl get deployment shop -n shop -o json | jq -e 'tostring | contains("argocd") | not'
  kubectl wait job migrate -n shop --for=condition=Complete
}

before_7() { [ -z "$(kubectl get applications.argoproj.io -n argocd -o name)" ]; }
