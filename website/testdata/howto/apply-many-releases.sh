namespace default
chart web
configmap() { printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {value: "1"}\n' "$1" > "$1.yaml"; }
configmap db
configmap jobs
shown apply-many-releases yaml 1 > releases.yaml

before_2() {
  kubectl get deployment web -n shop -o 'jsonpath={.spec.replicas}' | grep -x 1
  clm up -f releases.yaml -e test 2>&1 | grep -x '2 of 2 releases as in the file'
  clm up plan -f releases.yaml -e test -o markdown --exit-code
  [ "$(clm ls -A -q -l clm.cs.sap.com/file=shop.test | wc -l)" = 2 ]
}

before_3() {
  cp releases.yaml all.yaml
  perl -0pi -e 's/- name: db\n  sources: \[.\/db.yaml\]\n//; s/  dependsOn: \[db\]\n//' releases.yaml
  clm up plan -f releases.yaml -e test 2>&1 | grep 'release shop/db is not in releases.yaml any more'
}

before_4() {
  [ -z "$(kubectl get configmap db -n shop --ignore-not-found)" ]
  kubectl get deployment web -n shop
}

before_5() {
  [ -z "$(clm ls -A -q)" ]
  cat > helmfile.yaml <<EOF
releases:
- {name: web, chart: ./web}
EOF
}
