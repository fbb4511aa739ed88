namespace shop
chart chart
clm apply web ./chart
kubectl scale deployment web --replicas 5
kubectl rollout status deployment web

before_4() { [ "$(kubectl get deployment web -o 'jsonpath={.spec.replicas}')" = 5 ]; }
