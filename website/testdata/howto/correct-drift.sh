agree
namespace shop
chart chart
clm apply web ./chart --set replicas=1

before_1() { KUBE_EDITOR="perl -pi -e 's/ replicas: 1/ replicas: 2/'" kubectl edit deployment web; }
