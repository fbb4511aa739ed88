namespace demo
chart shop
rm shop/templates/service.yaml
touch values.yaml
admin=$(kubectl config view --minify -o 'jsonpath={.contexts[0].context.user}')

before_2() {
  # The permissions of the first block suffice.
  kubectl create serviceaccount deployer
  kubectl config set-credentials deployer --token "$(kubectl create token deployer)"
  kubectl config set-context --current --user deployer
  clm apply shop ./shop -f values.yaml
  echo 'color: green' > values.yaml
}

before_3() {
  shown use-clm-in-a-pipeline markdown 1 | diff - <(head -n 7 plan.md)
  clm apply shop ./shop -f values.yaml
}

before_4() { echo 'color: red' > values.yaml; }

before_5() { echo 'color: yellow' > values.yaml; }

before_6() {
  cp -r shop stuck
  perl -pi -e 's|^( +)metadata:$|$&\n$1  annotations: {sandbox.component-operator.io/never-ready: "true"}|' stuck/templates/deployment.yaml
  clm apply shop ./stuck -f values.yaml &
  older=$!
  until [ "$(clm ls -o 'jsonpath={.items[0].status.state}')" = Applying ]; do sleep 1; done
}

before_7() {
  local code=0
  wait $older || code=$?
  [ $code = 130 ]
  clm delete shop --yes
}

before_8() { kubectl config set-context --current --user "$admin"; }
