agree
namespace shop
chart chart
echo 'color: green' > values.yaml
clm apply web ./chart -f values.yaml

# The record is lost. Before that, there are no findings, and the exit code is 0.
before_2() { kubectl delete secret clm.web; }
