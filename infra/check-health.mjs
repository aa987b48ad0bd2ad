// Exits with code 0 while the services of this container are healthy. Run by the health checks of docker-compose.yml.
import { get } from 'node:http';

get('http://127.0.0.1:8080/health', ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)).on('error', () =>
  process.exit(1),
);
