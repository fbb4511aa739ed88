namespace demo
chart shop
helm install shop ./shop
helm upgrade shop ./shop --set color=green
helm upgrade shop ./shop --set color=red
record=$(kubectl get secrets -l owner=helm,name=shop -o json)

# Helm does not know the release any more, and the apply has made no revision.
before_4() {
  [ -z "$(helm list --short)" ]
  [ "$(clm history shop -o json | jq '.items | length')" = 1 ]
}

before_5() { jq 'del(.items[].metadata | .uid, .resourceVersion)' <<< "$record" | kubectl create -f -; }

before_6() {
  [ -z "$(kubectl get secrets -l owner=helm -o name)" ]
  clm delete shop --yes
  helm install shop ./shop -f values.yaml
}

before_7() { kubectl delete secrets -l owner=helm,name=shop; }

# The chart has no color any more.
before_8() { perl -ni -e 'print unless /color/' shop/templates/settings.yaml; }

color() { kubectl get configmap settings -o jsonpath='{.data.color}'; }

before_9() { [ "$(color)" = red ]; }

before_10() { [ -z "$(color)" ]; }
