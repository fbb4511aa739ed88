agree
namespace shop
chart chart
clm apply web ./chart
clm template web ./chart > objects.yaml
# Another release takes the Deployment and the Service, and before the second block everything.
cp -r chart other
rm other/templates/settings.yaml
clm template web ./other | clm apply other - --adopt always

before_2() { clm apply other objects.yaml --adopt always; }

before_4() {
  clm apply shop objects.yaml --adopt always
  kubectl create configmap more --dry-run=client -o yaml | clm apply web -
}
