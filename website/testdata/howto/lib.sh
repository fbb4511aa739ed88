# What the scripts of the pages have in common. Each runs in a folder of its own with a sandbox of its own.

export KUBECONFIG=$(cp "$KUBECONFIG" "$HOME/kubeconfig" && echo "$HOME/kubeconfig")

# The namespace exists, and kubectl and clm use it by default.
namespace() {
  kubectl get namespace "$1" > /dev/null 2>&1 || kubectl create namespace "$1"
  kubectl config set-context --current --namespace "$1"
}

# A chart in ./NAME with a Deployment, a Service and a ConfigMap.
chart() {
  mkdir -p "$1/templates"
  cat > "$1/Chart.yaml" <<EOF
apiVersion: v2
name: $1
version: 1.0.0
EOF
  cat > "$1/values.yaml" <<EOF
replicas: 2
port: 80
color: blue
EOF
  cat > "$1/templates/deployment.yaml" <<'EOF'
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels: {app: {{ .Release.Name }}}
  template:
    metadata:
      labels: {app: {{ .Release.Name }}}
    spec:
      containers:
        - name: main
          image: example.com/web:1
EOF
  cat > "$1/templates/service.yaml" <<'EOF'
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
spec:
  selector: {app: {{ .Release.Name }}}
  ports:
    - port: {{ .Values.port }}
EOF
  cat > "$1/templates/settings.yaml" <<'EOF'
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  color: {{ .Values.color }}
EOF
}

# The operator of the examples runs until the script ends, with a ParcelService "sample" in the current namespace.
parcels() {
  kubectl apply --server-side -f "$REPOSITORY/examples/parcel-operator/crds"
  kubectl wait crd --all --for=condition=Established
  parcel-operator -metrics-bind-address=0 -health-probe-bind-address=0 > operator.log 2>&1 &
  operator=$!
  trap '[ $? = 0 ] || cat operator.log; kill $(jobs -p) || true' EXIT
  kubectl create -f - <<EOF
apiVersion: example.io/v1alpha1
kind: ParcelService
metadata:
  name: sample
spec:
  region: north
EOF
  kubectl wait parcelservice sample --for=condition=Ready --timeout=5m
}

# A type without rules for its objects, of a program that does not run here: GROUP, PLURAL, KIND, SCOPE.
type_of_others() {
  kubectl apply -f - <<EOF
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: $2.$1
spec:
  group: $1
  names: {plural: $2, kind: $3}
  scope: $4
  versions:
    - name: v1alpha1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
EOF
  kubectl wait crd "$2.$1" --for=condition=Established
}

# A user answers the questions of clm with yes; without a terminal, -y does.
agree() {
  clm() {
    case "$1" in
      adopt | apply | delete | doctor | drift | move | orphan | rollback) command clm "$@" -y ;;
      *) command clm "$@" ;;
    esac
  }
}

# A user presses Ctrl-C after a while: clm goes on until then.
interrupt() {
  local code=0
  timeout --preserve-status -s INT 5 clm "$@" || code=$?
  [ $code = 130 ]
}

# A block of a page, for example the second one of yaml: shown PAGE yaml 2
shown() {
  perl -0777 -ne 'BEGIN { ($language, $number) = splice(@ARGV, 0, 2) }
    push @blocks, $2 =~ s/^$1//mgr while /^( *)```$language\n(.*?)^ *```$/gms;
    END { print $blocks[$number - 1] // die "no such block\n" }' \
    "$2" "$3" "$REPOSITORY/website/content/how-to/$1.md"
}
