namespace demo
parcels
