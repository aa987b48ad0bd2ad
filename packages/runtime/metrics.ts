export { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
