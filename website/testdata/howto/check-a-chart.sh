namespace demo
chart chart
perl -pi -e 's/\{\{ .Release.Name }}/web/' chart/templates/*.yaml
perl -pi -e 's/^name: .*/name: web/' chart/Chart.yaml
perl -pi -e 's/^( +)- port: .*/$&\n$1  targetPort: http/' chart/templates/service.yaml
echo '  ipFamilyPolices: SingleStack' >> chart/templates/service.yaml
