namespace demo
chart chart
chart shop
perl -pi -e 's/\{\{ .Release.Name }}/web/' */templates/*.yaml
perl -pi -e 's/^name: .*/name: web/' chart/Chart.yaml
perl -pi -e 's/^( +)- port: .*/$&\n$1  targetPort: http/' chart/templates/service.yaml
echo '  ipFamilyPolices: SingleStack' >> chart/templates/service.yaml
echo 'The color is {{ .Values.color }}.' > chart/templates/NOTES.txt
rm shop/templates/service.yaml
shown set-policies-for-a-chart yaml 2 > rules.yaml
printf '#!/bin/sh\nsed "s/example.com/$1.example.com/"\n' > patch.sh
chmod +x patch.sh

before_2() {
  for color in red green blue; do
    clm apply web ./chart --set color=$color
  done
}

before_3() { clm delete web --yes; }
