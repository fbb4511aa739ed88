namespace demo
chart shop
perl -pi -e 's/\{\{ .Release.Name }}/web/' shop/templates/*.yaml
rm shop/templates/service.yaml
shown set-policies-for-a-chart yaml 2 > rules.yaml
printf '#!/bin/sh\nsed "s/example.com/$1.example.com/"\n' > patch.sh
chmod +x patch.sh
