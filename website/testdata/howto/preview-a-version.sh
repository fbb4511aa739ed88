chart web
scaffold --group-name example.org --kind Web --operator-name web-operator.example.org --go-module example.org/web-operator \
  --chart web --runtime-path "$REPOSITORY" --skip-post-processing web-operator
cd web-operator
go mod tidy
make generate
go build -o v1 .
make install
kubectl wait crd --all --for=condition=Established
./v1 -rollout-max-updating=1 -metrics-bind-address=0 -health-probe-bind-address=0 > operator.log 2>&1 &
trap '[ $? = 0 ] || cat operator.log; kill $(jobs -p) || true' EXIT
for place in eu:2 us:3; do
  kubectl create namespace ${place%:*}
  printf 'apiVersion: example.org/v1alpha1\nkind: Web\nmetadata: {name: web, namespace: %s}\nspec: {replicas: %s}\n' ${place%:*} ${place#*:} | kubectl create -f -
  kubectl wait web/web -n ${place%:*} --for=condition=Ready --timeout=5m
  kubectl wait web/web -n ${place%:*} --for=condition=RolledOut --timeout=1m
done
deployment=pkg/generator/chart/templates/deployment.yaml

before_1() { sed -i 's/web:1/web:2/' $deployment; }

before_2() { sed -i 's/{app: {{ .Release.Name }}}/{app: {{ .Release.Name }}{{ if gt (int .Values.replicas) 2 }}, size: large{{ end }}}/' $deployment; }
