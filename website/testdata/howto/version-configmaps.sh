namespace shop
chart chart
shown version-configmaps yaml 1 | grep -v -e annotations -e versioned > chart/templates/settings.yaml
shown version-configmaps yaml 2 > rules.yaml

before_2() {
  clm apply web ./chart --policy-rules rules.yaml
  kubectl wait configmap kube-root-ca.crt --for=create
}
