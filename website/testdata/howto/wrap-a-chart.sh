chart web
# The page updates the project, which makes up for the steps that are left out here.
scaffold --group-name example.org --kind Web --operator-name web-operator.example.org --go-module example.org/web-operator \
  --chart web --runtime-path "$REPOSITORY" --skip-post-processing web-operator
cd web-operator
git init -q .
export TEST_SANDBOX_KUBECONFIG=$KUBECONFIG

before_1() { echo 'size: 1' >> pkg/generator/chart/values.yaml; }

before_2() { grep -q 'json:"size' api/v1alpha1/web_values.go; }
